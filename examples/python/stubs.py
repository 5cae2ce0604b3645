"""The type stubs and the module say the same: each public name, and the arguments of each call."""
import ast
import inspect
import pathlib

import ordofs

package = pathlib.Path(ordofs.__file__).parent
assert (package / "py.typed").exists()
stubs = ast.parse((package / "__init__.pyi").read_text())


def public(names):
    return {name for name in names if not name.startswith("_")}


def arguments(function):
    spec = function.args
    starred = [spec.vararg] if spec.vararg else []
    return [argument.arg for argument in spec.posonlyargs + spec.args + starred + spec.kwonlyargs]


def members(body):
    """The names in a class or module of the stubs, with the longest list of arguments where it is a call."""
    found = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            known = found.get(node.name) or []
            attribute = any(getattr(mark, "id", "") == "property" for mark in node.decorator_list)
            found[node.name] = None if attribute else max(known, arguments(node), key=len)
        elif isinstance(node, ast.AnnAssign):
            found[node.target.id] = None
        elif isinstance(node, ast.ClassDef):
            found[node.name] = None
    return found


def compare(where, stub, real, names):
    assert public(stub) == public(names), (where, public(stub) ^ public(names))
    for name in public(stub):
        if stub[name] is not None:
            assert list(inspect.signature(getattr(real, name)).parameters) == stub[name], (where, name)
        # Whoever asks help() is told what it does.
        if inspect.isroutine(getattr(real, name, None)) or inspect.isclass(getattr(real, name, None)):
            assert getattr(real, name).__doc__, f"{where}.{name} says nothing"


classes = {node.name: node for node in stubs.body if isinstance(node, ast.ClassDef)}
compare("ordofs", members(stubs.body), ordofs, ordofs.__all__)
assert "__version__" in members(stubs.body) and "__version__" in ordofs.__all__
compare("Volume", members(classes["Volume"].body), ordofs.Volume, dir(ordofs.Volume))
compare("Stat", members(classes["Stat"].body), ordofs.Stat, dir(ordofs.Stat))
compare("File", members(classes["File"].body), ordofs.File, vars(ordofs.File))
compare("DirEntry", members(classes["DirEntry"].body), ordofs.DirEntry, [*vars(ordofs.DirEntry), "name", "path"])
print("the stubs have", sum(len(members(node.body)) for node in classes.values()), "names, as the module")
