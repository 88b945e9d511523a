"""How a value is shown: as text always, and in every richer form that it offers by duck typing."""

import base64
import json

TEXT_FORMS = {
    "html": "_repr_html_",
    "markdown": "_repr_markdown_",
    "svg": "_repr_svg_",
    "latex": "_repr_latex_",
}
BINARY_FORMS = {"png": "_repr_png_", "jpeg": "_repr_jpeg_"}
MIME_TYPES = {
    "text/html": "html",
    "text/markdown": "markdown",
    "image/svg+xml": "svg",
    "text/latex": "latex",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/json": "json",
}
TEXT_SHARE = 16  # JSON spends up to twelve bytes on one character
LARGEST_JSON = 64 * 1024 * 1024
MOST_ROWS = 1000
MOST_COLUMNS = 200


def describe(value, limit):
    """The forms of a value, as far as they fit into `limit` bytes together."""
    forms = {"text": repr(value)}
    for form, method in {**TEXT_FORMS, **BINARY_FORMS}.items():
        put(forms, form, offered(value, method))
    for mime, content in (offered(value, "_repr_mimebundle_") or {}).items():
        if mime in MIME_TYPES:
            put(forms, MIME_TYPES[mime], content)
    table = table_of(value)
    if table is not None:
        forms["table"] = table
    if isinstance(value, (dict, list, tuple, str, int, float, bool, type(None))):
        put_json(forms, value, limit)
    return within(forms, limit)


def described_as(form, content, limit):
    """What `display.html("…")` and its like show."""
    forms = {"text": f"<{form}>"}
    if form == "table":
        forms["table"] = table_of(content) or table_of(list(content))
    else:
        put(forms, form, content)
    return within(forms, limit)


def offered(value, method):
    """What the value's own method gives, None where it has none. A class shows itself, not its instances."""
    if isinstance(value, type) or not callable(getattr(type(value), method, None)):
        return None
    content = getattr(value, method)()
    return content[0] if isinstance(content, tuple) else content


def put(forms, form, content):
    if content is None:
        return
    if form in BINARY_FORMS and isinstance(content, (bytes, bytearray, memoryview)):
        forms[form] = base64.b64encode(content).decode()
    elif form == "json":
        put_json(forms, content)
    else:
        forms[form] = str(content)


def put_json(forms, value, limit=LARGEST_JSON):
    """JSON text is read back, so that what leaves is faithful and finite whatever subclasses it held."""
    encoded = json_of(value, limit)
    if encoded is not None:
        forms["json"] = json.loads(encoded)


def table_of(value):
    """Rows and columns of a data frame (pandas, polars, and what looks like them) or a list of records."""
    if isinstance(value, type):
        return None
    if isinstance(value, list) and value and all(type(row) is dict for row in value):
        columns = list(dict.fromkeys(key for row in value[:MOST_ROWS] for key in row))
        return table(columns, ([row.get(key) for key in columns] for row in value), len(value))
    if not hasattr(value, "columns"):
        return None
    if hasattr(value, "itertuples") and hasattr(value, "index"):
        named = value if type(value.index).__name__ == "RangeIndex" else value.reset_index()
        return table(list(named.columns), named.itertuples(index=False, name=None), len(value))
    if hasattr(value, "iter_rows"):
        return table(list(value.columns), value.iter_rows(), len(value))
    return None


def table(columns, rows, total):
    kept = [[cell(item) for item in list(row)[:MOST_COLUMNS]] for row, _ in zip(rows, range(MOST_ROWS))]
    return {"columns": [str(column) for column in columns[:MOST_COLUMNS]], "rows": kept, "totalRows": total}


def cell(item):
    if item is None or isinstance(item, (bool, str)):
        return item
    if hasattr(item, "item") and callable(item.item):
        item = item.item()
    if item != item:
        return None
    if isinstance(item, (int, float)) and abs(item) < 2**53:
        return item
    return str(item)


def json_of(value, limit):
    """JSON text, or None where the value has no faithful one of that size."""
    pieces, size = [], 0
    try:
        for piece in json.JSONEncoder(allow_nan=False).iterencode(value):
            size += len(piece)
            if size > limit:
                return None
            pieces.append(piece)
    except (TypeError, ValueError, RecursionError):
        return None
    return "".join(pieces)


def within(forms, limit):
    """The forms that fit together into `limit` bytes of JSON, and the names of those that do not."""
    kept, omitted = {"text": shortened(forms["text"], limit // TEXT_SHARE)}, []
    room = limit - len(json.dumps(kept["text"]))
    for form, content in forms.items():
        if form == "text":
            continue
        size = len(json.dumps(content))
        if size > room:
            omitted.append(form)
        else:
            room -= size
            kept[form] = content
    return {**kept, "omitted": omitted}


def shortened(text, limit):
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"
