"""Do 100 trials in a row keep memory, descriptors, threads and processes?"""

import psutil

import autosync_lab as asl
from autosync_lab.strategy import builder_names

TRIALS = 100
EVERY = 10


def main() -> None:
    """Builders in turn on ncf-small and emulated-4; workers' resources after every ten trials."""
    cluster, model = asl.load_cluster("emulated-4"), asl.load_model("ncf-small")
    with asl.open_cluster(cluster) as runner:
        workers = [psutil.Process(pid) for pid in runner.worker_pids.values()]
        failed = 0
        for number in range(TRIALS):
            builder = builder_names()[number % len(builder_names())]
            trial = runner.measure(model, asl.build_strategy(builder, model, cluster), steps=1, warmup=0)
            failed += trial.status != "ok"
            if (number + 1) % EVERY == 0:
                memory = sum(p.memory_full_info().uss for p in workers) / 1e6
                print(
                    f"{number + 1} trials, {failed} failed: {memory:.0f} MB, "
                    f"{sum(p.num_fds() for p in workers)} descriptors, "
                    f"{sum(p.num_threads() for p in workers)} threads, "
                    f"{len(psutil.Process().children(recursive=True))} processes",
                    flush=True,
                )


if __name__ == "__main__":
    main()
