"""Pretty printers of gdb for Glow's own types: values, types, nodes and the like as their text.

    (gdb) source utils/gdb/glow.py
    (gdb) print *value
    $1 = %conv : float<1 x 8 x ..64 x $N>

Pointers are printed with what they point to. Nothing is called in the process that is debugged.
"""
import gdb

DIM_EXACT, DIM_BOUND, DIM_SYMBOL = 0, 1, 2
LIMIT = 32  # operands and dimensions, against memory that is garbage


def text(pointer):
    """A C string, or None for NULL."""
    return pointer.string("utf-8", "replace", length=-1) if int(pointer) else None


def enumerator(value, prefix):
    """`MAX_POOL` for GLOW_OP_MAX_POOL."""
    name = str(value)
    return name[len(prefix):] if name.startswith(prefix) else name


def dim(value):
    kind = int(value["kind"])
    if kind == DIM_EXACT or kind == DIM_BOUND:
        return (".." if kind == DIM_BOUND else "") + str(int(value["size"]))
    return "$" + (text(value["symbol"]) or "?") if kind == DIM_SYMBOL else "?"


def kind_name(kind):
    return enumerator(kind, "GLOW_KIND_").lower()


def type_text(value):
    cls = enumerator(value["cls"], "GLOW_TYPE_")
    if cls in ("SEQ", "OPT"):
        count = int(value["max_count"]) if cls == "SEQ" else -1
        return f"{cls.lower()}<{type_text(value['elem'].dereference())}{f', {count}' if count >= 0 else ''}>"
    if cls != "TENSOR":
        return "<error type>"
    quantization = ""
    if value["quantized"]:
        quantization = f"[S:{float(value['scale']):g} O:{int(value['offset'])}]"
    if value["unranked"]:
        return f"{kind_name(value['kind'])}{quantization}<*>"
    rank = min(int(value["rank"]), LIMIT)
    dims = " x ".join(dim(value["dims"][i]) for i in range(rank))
    layout = " | " + text(value["layout"]["text"]) if int(value["layout"]) else ""
    return f"{kind_name(value['kind'])}{quantization}<{dims}{layout}>"


def value_name(value):
    sigil = "@" if enumerator(value["kind"], "GLOW_VALUE_") == "STORAGE" else "%"
    return sigil + (text(value["name"]) or str(int(value["id"])))


def value_text(value):
    return f"{value_name(value)} : {type_text(value['type'].dereference())}"


def op_name(op):
    """MaxPool for GLOW_OP_MAX_POOL: from the table if gdb knows it, else made from the enumerator."""
    try:
        return text(gdb.parse_and_eval("glow_op_desc")[int(op)]["node"])
    except gdb.error:
        return "".join(word.capitalize() for word in enumerator(op, "GLOW_OP_").split("_"))


def node_text(value):
    results = [value_name(value["results"][i]) for i in range(min(int(value["nresults"]), LIMIT))]
    operands = []
    for i in range(min(int(value["noperands"]), LIMIT)):
        used = value["operands"][i]["value"]
        operands.append(value_name(used.dereference()) if int(used) else "none")
    return (", ".join(results) + " = " if results else "") + f"{op_name(value['op'])}({', '.join(operands)})"


def origin_text(value):
    name = text(value["name"])
    place = f'"{name}"' if name else f"{int(value['line'])}:{int(value['col'])}"
    return f'loc("{text(value["file"]) or ""}":{place})'


def loc_text(value):
    parts = [text(value["file"]) or "<nowhere>"]
    parts += [str(int(value[f])) for f in ("line", "col") if int(value[f])]
    return ":".join(parts) + (f" node '{text(value['node'])}'" if int(value["node"]) else "")


def storage_text(value):
    cls = enumerator(value["cls"], "GLOW_").lower()
    return f"{cls} {value_text(value['value'])}"


def function_text(value):
    kind = enumerator(value["kind"], "GLOW_").lower()
    return f"{kind} @{text(value['name'])}"


def buffer_text(value):
    size = int(value["size"])
    return repr(value["data"].string("utf-8", "replace", length=size)) if size else "''"


def string_text(value):
    length = int(value["length"])
    return repr(value["data"].string("utf-8", "replace", length=length)) if length else "''"


PRINTERS = {
    "GlowDim": dim,
    "GlowType": type_text,
    "GlowValue": value_text,
    "GlowNode": node_text,
    "GlowOrigin": origin_text,
    "GlowLoc": loc_text,
    "GlowStorage": storage_text,
    "GlowFunction": function_text,
    "GlowText": buffer_text,
    "GlowString": string_text,
}


class Printer:
    """What gdb asks for the text of a value, or of what a pointer points to."""

    def __init__(self, value, print_text):
        self.value, self.print_text = value, print_text

    def to_string(self):
        try:
            return self.print_text(self.value)
        except gdb.error as e:
            return f"<{e}>"


def lookup(value):
    kind = value.type.strip_typedefs()
    pointer = kind.code == gdb.TYPE_CODE_PTR
    target = kind.target().strip_typedefs() if pointer else kind
    print_text = PRINTERS.get(target.unqualified().tag)
    if not print_text or (pointer and int(value) == 0):
        return None
    return Printer(value.dereference() if pointer else value, print_text)


lookup.__name__ = "glow"
gdb.pretty_printers[:] = [p for p in gdb.pretty_printers if getattr(p, "__name__", "") != "glow"]
gdb.pretty_printers.append(lookup)
