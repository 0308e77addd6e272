"""Reads the floor's list: a line is the steps that one needs, a tab, and its command."""


def steps():
    with open("list") as lines:
        for step, line in enumerate(lines):
            needs, command = line.rstrip("\n").split("\t")
            yield step, [int(need) for need in needs.split()], command
