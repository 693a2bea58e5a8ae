"""The 2 × 2 data of test_contrasts.py, fitted as a psycholinguist would: prints the values that the test holds.

python tests/statistics/mixed_reference.py        (needs statsmodels; made with 0.15.0)
"""

import itertools

import numpy as np
import pandas as pd

CODES = np.array([[1, 1, 1, 1], [-0.5, -0.5, 0.5, 0.5], [-0.5, 0.5, -0.5, 0.5], [0.25, -0.25, -0.25, 0.25]])


def data() -> pd.DataFrame:
    """24 groups with effects of their own, three items of each in every cell."""
    rng = np.random.default_rng(7)
    slopes = rng.normal(0, 1, (24, 4)) @ CODES
    cells = list(enumerate(itertools.product((-0.5, 0.5), (-0.5, 0.5))))
    rows = []
    for group, (i, (a, b)), _ in itertools.product(range(24), cells, range(3)):
        rows.append((f"g{group:02d}", a, b, 0.4 * a - 0.3 * b + 0.8 * a * b + slopes[group, i] + rng.normal(0, 0.6)))
    return pd.DataFrame(rows, columns=["group", "a", "b", "y"])


if __name__ == "__main__":
    import statsmodels.formula.api as smf

    made = data()
    mixed = smf.mixedlm("y ~ a * b", made, groups="group", re_formula="~ a * b").fit(reml=True)
    clusters = {"groups": pd.factorize(made["group"])[0]}
    robust = smf.ols("y ~ a * b", made).fit(cov_type="cluster", cov_kwds=clusters)
    for term in ("a", "b", "a:b"):
        for name, fit in (("mixed", mixed), ("least squares, clustered", robust)):
            print(f"{term}, {name}: {fit.params[term]:.6f} ± {fit.bse[term]:.6f}")
