"""k-means over the rows' vectors."""

from collections.abc import Sequence

import numpy as np

from kernelset.sample.vectors import Vectors

ROUNDS = 25  # Lloyd's iterations; assignments of code embeddings stand still well before


def cluster(vectors: Vectors, count: int, seed: int) -> list[int]:
    """The cluster of each row: 0, 1, … in the order of their first row, none of them empty.

    Args:
        vectors: (rows, dimensions), in an order that does not depend on where the rows came from.
        count: clusters wanted; fewer if there are not so many rows.
    """
    import faiss

    rows, dimensions = vectors.shape
    if rows <= count:
        return list(range(rows))
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)  # the last digits of a sum depend on how many share it
    try:
        means = faiss.Kmeans(
            dimensions,
            count,
            niter=ROUNDS,
            seed=seed,
            min_points_per_centroid=1,
            max_points_per_centroid=rows,  # no subsampling
        )
        means.train(np.ascontiguousarray(vectors))
        _, nearest = means.index.search(vectors, 1)
    finally:
        faiss.omp_set_num_threads(threads)
    return _in_order_of_appearance(nearest[:, 0].tolist())


def _in_order_of_appearance(labels: Sequence[int]) -> list[int]:
    names: dict[int, int] = {}
    return [names.setdefault(label, len(names)) for label in labels]
