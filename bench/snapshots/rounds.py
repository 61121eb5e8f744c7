# SPDX-License-Identifier: Apache-2.0
"""Sides that move much data, measured in turn."""
import statistics


def median_rates(count: int, **sides) -> dict:
    """The median of what each side returns, called with the number of the round. Every other round
    goes the other way: a disk is slower after it has been written to, whoever wrote."""
    rates = {name: [] for name in sides}
    for number in range(count):
        order = list(sides.items())
        for name, take in order if number % 2 == 0 else reversed(order):
            rates[name].append(take(number))
    return {name: round(statistics.median(values)) for name, values in rates.items()}
