"""Figures of matplotlib as PNG. Costs one comparison per import until matplotlib is really imported."""

import importlib.util
import io
import os
import sys

PYPLOT = "matplotlib.pyplot"


def watch(show):
    """Calls `show(png, text)` for figures: on `plt.show()`, and for what is still open at the end of a run."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    sys.meta_path.insert(0, PyplotHook(show))


class PyplotHook:
    def __init__(self, show):
        self.show = show

    def find_spec(self, name, _path=None, _target=None):
        if name != PYPLOT:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            run_module = spec.loader.exec_module

            def exec_module(module):
                run_module(module)
                module.show = lambda *_, **__: show_open_figures(self.show)

            spec.loader.exec_module = exec_module
        return spec


def show_open_figures(show):
    pyplot = sys.modules.get(PYPLOT)
    if pyplot is None:
        return
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        try:
            show(png_of(figure), repr(figure))
        finally:
            pyplot.close(figure)


def figure_png(value):
    """The PNG of a value that is a figure, which then counts as shown; None for anything else."""
    module = type(value).__module__
    if not module.startswith("matplotlib.") or not hasattr(value, "savefig"):
        return None
    png = png_of(value)
    pyplot = sys.modules.get(PYPLOT)
    if pyplot is not None:
        pyplot.close(value)
    return png


def png_of(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight")
    return buffer.getvalue()
