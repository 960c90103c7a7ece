"""Where the project keeps its things."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "data"
RECIPES = DATA / "recipes"
OUT = ROOT / "out"
