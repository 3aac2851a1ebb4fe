"""Classes and data sets of the program, by name. A part of the start-up hook.

Limits. No code of the user's runs: only classes and plain attributes are read.
"""


def name_of(thing):
    """module.name of a class or a function, else of its class."""
    if not isinstance(thing, type) and type(thing).__name__ != "function":
        thing = type(thing)
    return ("%s.%s" % (thing.__module__, thing.__qualname__))[:120]


def behind_subsets(dataset):
    """The data set that reads the samples of a torch Subset."""
    while name_of(type(dataset)) == "torch.utils.data.dataset.Subset":
        dataset = vars(dataset).get("dataset")
    return dataset
