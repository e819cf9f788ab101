"""Simulators that learn from trials: rankers that correct the cost model, alone or from other models and clusters."""

from autosync_lab.simulator.learned.pair_trials import PairTrials as PairTrials
from autosync_lab.simulator.learned.ranker import Ranker as Ranker
from autosync_lab.simulator.learned.recipe import RANKERS as RANKERS
from autosync_lab.simulator.learned.recipe import Recipe as Recipe
from autosync_lab.simulator.learned.saved import load_knowledge as load_knowledge
from autosync_lab.simulator.learned.saved import save_knowledge as save_knowledge
from autosync_lab.simulator.learned.simulator import Knowledge as Knowledge
from autosync_lab.simulator.learned.simulator import LearnedSimulator as LearnedSimulator
from autosync_lab.simulator.learned.simulator import learn as learn
