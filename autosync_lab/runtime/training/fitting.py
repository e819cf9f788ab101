"""`fit`: train a model with a strategy."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import InvalidInput
from autosync_lab.model.spec import ModelSpec
from autosync_lab.runtime.runner import Runner, check_dtypes, check_settings, open_cluster
from autosync_lab.runtime.training.checkpoint_folder import Checkpoint, newest_checkpoint, read_checkpoint
from autosync_lab.runtime.training.feed import DatasetFunction
from autosync_lab.runtime.training.fitted import Fitted
from autosync_lab.runtime.training.interrupt import orderly_interrupt
from autosync_lab.runtime.training.training_bar import TrainingBar
from autosync_lab.runtime.training.training_run import Plan, TrainingRun, TrainingStep
from autosync_lab.strategy.spec import Strategy
from autosync_lab.strategy.validate import validate_strategy


def fit(
    model: ModelSpec,
    strategy: Strategy,
    cluster: ClusterSpec | Runner,
    dataset_fn: DatasetFunction,
    steps: int,
    *,
    optimizer: str = "sgd",
    learning_rate: float = 0.01,
    checkpoint: str | Path | None = None,
    every: int | None = None,
    seed: int = 0,
    on_step: Callable[[TrainingStep], None] | None = None,
) -> Fitted:
    """Train a model with a strategy, on the engine that measures strategies.

    Training begins with the values that the model's variables had when it was captured, or goes on from the newest
    checkpoint in `checkpoint`: the same call, made again, goes on where it was. The strategy and the cluster may be
    others than the checkpoint's.

    If a process is lost, all are started anew and training goes on from the last checkpoint (if there is none, from the
    beginning); when that happens three times without a further step, it gives up. Ctrl-C ends training after the steps
    that are under way, with a checkpoint if `checkpoint` is given; a second one ends it at once. In all cases processes
    that were started here have ended when this returns or raises.

    A checkpoint is taken between steps, when every replica has ended the last one. So all pushes of an asynchronous
    strategy are applied then; the copies of replicas that had not pulled the last ones are brought up to date when
    training goes on from it.

    Parameters
    ----------
    model : ModelSpec
        One that can be run (see `ModelSpec.traced`).
    strategy : Strategy
        Valid for the model and the cluster.
    cluster : ClusterSpec or Runner
        A runner's processes are used and stay up.
    dataset_fn : callable
        `dataset_fn(rank, replicas)` returns an iterable of batches for one replica: a generator, a list, a
        `tf.data.Dataset`. It runs in this process and thread, never in a worker, and is called again to go on from a
        checkpoint; so it gives the same batches in the same order every time. A batch has the arrays that the model was
        captured with, in any structure: their shapes, and their kind of numbers. A batch that is smaller (the last of
        an epoch) is left out, and `Fitted.notes` tells.
    steps : int
        In all, with those of the checkpoint.
    optimizer : str
        sgd, momentum, adam or adagrad.
    learning_rate : float
    checkpoint : str or Path, optional
        Folder of checkpoints `step-N`; all of them are kept.
    every : int, optional
        Steps between two checkpoints; None: only one at the end.
    seed : int
        Moves the random generators of the model (dropout masks) of all replicas.
    on_step : callable, optional
        Called in this thread with a `TrainingStep`.

    Returns
    -------
    Fitted

    Raises
    ------
    InvalidInput
        If the input breaks a rule; naming rank and batch (from 0) if it is the data. Also if the newest checkpoint is
        damaged, or of another model or optimizer.
    WorkerFailed
        If processes are lost again and again.
    ClusterUnavailable
        If the cluster cannot be started.
    """
    spec = cluster.cluster if isinstance(cluster, Runner) else cluster
    if not isinstance(spec, ClusterSpec):
        raise InvalidInput("fit takes a ClusterSpec (see autosync_lab.load_cluster) or a Runner", received=cluster)
    if spec.launcher == "virtual":
        raise InvalidInput("a virtual cluster only simulates: nothing can be trained on it", received=spec.name)
    steps, _, seed = check_settings(steps, 0, seed, optimizer, learning_rate, None)
    folder = _folder(checkpoint)
    if every is not None and (isinstance(every, bool) or not isinstance(every, int) or every < 1):
        raise InvalidInput("a checkpoint is taken every 1 or more steps", where="every", received=every)
    if every is not None and folder is None:
        raise InvalidInput("checkpoints need a folder", where="checkpoint", received=f"every={every}")
    if not callable(dataset_fn):
        raise InvalidInput(
            "dataset_fn is a function of (rank, replicas)", where="dataset_fn", received=type(dataset_fn).__name__
        )
    validate_strategy(strategy, model, spec)
    check_dtypes(model)
    plan = Plan(model, strategy, steps, optimizer, learning_rate, seed, folder, every)
    start = _start(plan)
    first_step = start.about.step if start else 0
    if start and first_step == steps:
        path = newest_checkpoint(folder) if folder else None
        return _fitted(plan, start, first_step, (), (), path, ())
    with ExitStack() as stack:
        interrupted = stack.enter_context(orderly_interrupt())
        runner = cluster if isinstance(cluster, Runner) else stack.enter_context(open_cluster(cluster))
        assert isinstance(runner, Runner)
        bar = stack.enter_context(TrainingBar(steps))

        def tell(step: TrainingStep) -> None:
            bar.show(step)
            if on_step is not None:
                on_step(step)

        run = TrainingRun(runner, plan, dataset_fn, interrupted, tell)
        end = run.perform()
    if end.about.step < steps:
        raise KeyboardInterrupt
    return _fitted(plan, end, first_step, tuple(run.losses), tuple(run.step_times_s), run.path, run.notes)


def _folder(checkpoint: str | Path | None) -> Path | None:
    if checkpoint is None:
        return None
    if not isinstance(checkpoint, str | Path):
        raise InvalidInput("a folder is needed", where="checkpoint", received=checkpoint)
    folder = Path(checkpoint)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"this is no folder for checkpoints: {error}", where="checkpoint") from None
    return folder


def _start(plan: Plan) -> Checkpoint | None:
    """The checkpoint that training goes on from, once it is known that it can."""
    path = newest_checkpoint(plan.folder) if plan.folder else None
    if path is None:
        plan.model.traced  # noqa: B018  # a model that cannot be run is the caller's mistake: say so before anything starts
        return None
    start = read_checkpoint(path)
    start.check_fits(plan.model.traced, plan.optimizer, str(path))
    if start.about.step > plan.steps:
        raise InvalidInput(
            "training is already further in this folder of checkpoints",
            where=str(path),
            received=f"steps={plan.steps}",
        )
    return start


def _fitted(
    plan: Plan,
    end: Checkpoint,
    first_step: int,
    losses: tuple[float, ...],
    step_times_s: tuple[float, ...],
    path: Path | None,
    notes: tuple[str, ...],
) -> Fitted:
    return Fitted(
        model=plan.model.name,
        strategy=plan.strategy,
        steps=end.about.step,
        first_step=first_step,
        losses=losses,
        step_times_s=step_times_s,
        parameters=end.parameters,
        state=end.state,
        checkpoint=path,
        notes=notes,
    )
