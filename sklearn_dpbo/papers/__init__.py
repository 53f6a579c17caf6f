"""The algorithms of three papers, a module for each (zone: boundary).

`kusner2015`: Kusner et al., "Differentially private Bayesian optimization", ICML 2015.
`kharkovskii2020`: Kharkovskii, Dai and Low, "Private outsourced Bayesian optimization", ICML 2020.
`balcan2018`: Balcan, Dick and Vitercik, "Private algorithm configuration", 2018.

Nothing is imported before it is asked for.
"""
