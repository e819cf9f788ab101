# make lab    set up, then open JupyterLab on the explorer notebook
# make class  set up, then serve the Explorer alone as a page
# make demo   set up, then the same main job in the terminal
# make test   set up, then run all checks and tests
# make docs   set up, then write the reference to build/docs
# make dataset  set up, then measure what the data set lacks (hours; stop it whenever you like, it goes on)

PYTHON ?= python3
BIN := .venv/bin
STAMPS := .venv/stamps
LAB := $(BIN)/jupyter lab --ServerApp.ip=127.0.0.1 --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate
LIGHT := not cluster and not browser

.PHONY: lab class demo test docs dataset setup lint format check-fast lock clean
.DELETE_ON_ERROR:

lab: setup
	$(LAB) notebooks/01_first_trial.ipynb

# One document fills the page: JupyterLab's single-document mode.
class: setup
	$(LAB) --ServerApp.root_dir=$(CURDIR)/notebooks/class --LabApp.default_url=/doc/tree/explorer.ipynb

demo: setup
	$(BIN)/autosync-lab demo

# Tests without workers and browsers share the cores; the others have the machine for themselves.
test: setup lint
	$(BIN)/python -m pytest -n 2 -m "$(LIGHT)"
	$(BIN)/python -m pytest -m "not ($(LIGHT))"

dataset: setup
	$(BIN)/autosync-lab collect autosync_lab/study/data_set/measured

docs: setup
	$(BIN)/python tools/make_reference.py

check-fast: setup lint
	$(BIN)/python -m pytest -n 2 -m "$(LIGHT) and not notebook"

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

setup: $(STAMPS)/kernel

$(STAMPS)/system: tools/system_packages.sh
	@sh tools/system_packages.sh
	@test -d .venv || $(PYTHON) -m venv .venv
	@mkdir -p $(STAMPS) && touch $@

# TensorFlow comes first: Horovod is compiled against it.
$(STAMPS)/packages: pyproject.toml constraints.txt $(STAMPS)/system
	@echo "python packages: installing into .venv (a few minutes the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --upgrade pip 'setuptools<70' wheel cmake
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[tensorflow,study,lab,figures,dev]'
	@touch $@

$(STAMPS)/horovod: tools/build_horovod.py $(STAMPS)/packages
	@$(BIN)/python tools/build_horovod.py --install
	@touch $@

# Without the override JupyterLab forgets what widgets showed when a notebook is closed.
$(STAMPS)/kernel: tools/jupyterlab_overrides.json $(STAMPS)/horovod
	@$(BIN)/python -m ipykernel install --sys-prefix --name python3 --display-name "AutoSync Lab" >/dev/null
	@mkdir -p .venv/share/jupyter/lab/settings && cp tools/jupyterlab_overrides.json .venv/share/jupyter/lab/settings/overrides.json
	@touch $@
	@echo "set-up: done"

lock:
	sh tools/lock.sh

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
