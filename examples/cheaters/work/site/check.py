import json

with open("target/examples/cheaters/plants_sitecustomize/sum.txt") as file:
    assert json.load(file) == 55
