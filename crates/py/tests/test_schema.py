"""The JSON schema of plans accepts every plan of the repository and refuses what the program refuses."""

import json
import os
import subprocess
import tomllib
from pathlib import Path

import jsonschema
import pytest

PROGRAM = os.environ["ANABRANCH_PROGRAM"]
EXPERIMENTS = Path(__file__).parents[3] / "experiments"


@pytest.fixture(scope="module")
def schema():
    printed = subprocess.run([PROGRAM, "lab", "schema"], capture_output=True, check=True).stdout
    schema = json.loads(printed)
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


@pytest.mark.parametrize("plan", sorted(EXPERIMENTS.glob("*.toml")), ids=lambda plan: plan.stem)
def test_every_plan_matches(schema, plan):
    schema.validate(tomllib.loads(plan.read_text()))


@pytest.mark.parametrize(
    "mistake",
    [
        "titel = 'x'",
        "paths.north.rat = '1Mbit'",
        "policies.cc = 'fastest'",
        "check = [{ claim = 'x', kind = 'valeu', series = 'base' }]",
        "quick.paths.north.queue.codel.tarket = '1ms'",
    ],
)
def test_mistakes_are_refused(schema, mistake):
    with pytest.raises(jsonschema.ValidationError):
        schema.validate(tomllib.loads("title = 'x'\nclaim = 'x'\n" + mistake))
