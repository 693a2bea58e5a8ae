"""The settings of CounterActs: which prompts are made, and how models are asked."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from trueprobe.probes.base import Settings
from trueprobe.probes.counteracts.controls import Kinds


class CounterActsSettings(Settings):
    material: str = Field(default="gender", description="a shipped file (gender, age) or your own TOML file")
    occupations: Literal["winobias40", "table58"] = Field(
        default="winobias40", description="the entries marked core (the WinoBias 40), or all (Table 1's 58)"
    )
    backgrounds: Literal["all"] | int = Field(
        default="all", description="how many occupations of the other group each target meets: all, or a number"
    )
    wording: str = Field(default="", description="a wording of the material, or all; the paper's if empty")
    article: Literal["auto", "a"] = Field(
        default="auto", description="an engineer (auto), or a engineer as printed (a)"
    )
    spacing: Literal["plain", "paper"] = Field(
        default="plain",
        description="behind knowledge the base prompt reads as alone (nurse.), or as the paper prints it (nurse .)",
    )
    causal: Literal["auto", "target_is", "person_is"] = Field(
        default="auto",
        description="prompt of causal models: the paper's 'The target is', or a natural sentence where the top ten "
        "of fewer than half of the base prompts would hold a listed word; or one of the two",
    )
    separator: Literal["own", "paper"] = Field(
        default="own",
        description="between knowledge and prompt: the model's pair format, or the paper's <s> for RoBERTa",
    )
    verbalizer: str = Field(default="", description="a TOML file with words to add to the material's lists")
    controls: Kinds = Field(
        default=(),
        description="prompts with the word for a group and without what is said of the occupation, in addition: "
        "other (occupation), word (alone), after (the blank), nonsense (occupation), or all; separated by commas",
    )

    @field_validator("backgrounds", mode="before")
    @classmethod
    def _at_least_one(cls, value: Any) -> Any:
        if isinstance(value, bool) or (str(value).lstrip("-").isdigit() and int(value) < 1):
            raise ValueError("at least one background is needed")
        return value
