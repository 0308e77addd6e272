import json

with open("target/examples/cheaters/plants_module/sum.txt") as file:
    assert json.load(file) == 55
