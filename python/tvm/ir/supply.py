"""Names that are not used yet."""

from __future__ import annotations

from typing import Any

from relay import GlobalVar, IRModule


class NameSupply:
    """Gives names that it has not given before."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self._used: set[str] = set()

    def _full(self, name: str, add_prefix: bool) -> str:
        return f"{self.prefix}_{name}" if add_prefix and self.prefix else name

    def fresh_name(self, name: str, add_prefix: bool = True, add_underscore: bool = True) -> str:
        """`name`, with a number behind it where it is taken, and an underscore before the number if wanted; taken from now on."""
        base = made = self._full(name, add_prefix)
        number = 0
        while made in self._used:
            number += 1
            made = f"{base}_{number}" if add_underscore else f"{base}{number}"
        self._used.add(made)
        return made

    def reserve_name(self, name: str, add_prefix: bool = True) -> str:
        """Takes the name, whether it was free or not."""
        made = self._full(name, add_prefix)
        self._used.add(made)
        return made

    def contains_name(self, name: str, add_prefix: bool = True) -> bool:
        """True if the name is taken."""
        return self._full(name, add_prefix) in self._used


class GlobalVarSupply:
    """Gives global variables of new names; those of modules that it is made of are taken, and names get the first module's as prefix."""

    def __init__(self, value: Any = None) -> None:
        modules: list[Any] = [value] if isinstance(value, IRModule) else list(value) if isinstance(value, (list, tuple)) else []
        self._known: dict[str, GlobalVar] = {}
        if isinstance(value, NameSupply):
            self.name_supply = value
            return
        attrs = modules[0].attrs if modules else None
        self.name_supply = NameSupply(str((attrs or {}).get("mod_name", "tvmgen_default")) if modules else "")
        for mod in modules:
            for name in mod.function_names:
                self.reserve_global(mod.get_global_var(name), allow_conflict=True)

    def fresh_global(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """A global variable of a name that is not taken."""
        made = GlobalVar(self.name_supply.fresh_name(name, add_prefix))
        self._known[made.name_hint] = made
        return made

    def unique_global_for(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """The same global variable each time for the same name, prefix included."""
        full = self.name_supply.reserve_name(name, add_prefix)
        return self._known.setdefault(full, GlobalVar(full))

    def reserve_global(self, global_var: GlobalVar, allow_conflict: bool = False) -> None:
        """Takes the variable's name. Raises ValueError if it is taken, unless `allow_conflict`."""
        if not allow_conflict and self.name_supply.contains_name(global_var.name_hint, False):
            raise ValueError(f"the name {global_var.name_hint} is taken")
        self._known[self.name_supply.reserve_name(global_var.name_hint, False)] = global_var
