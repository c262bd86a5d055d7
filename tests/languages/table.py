"""Programs in each language that is data, and what comes of them: what people write first, and what goes wrong.

A language leaves out what it cannot do.
"""

from families import functional, gnu, managed, native, scripts

PROGRAMS = {**gnu.PROGRAMS, **native.PROGRAMS, **managed.PROGRAMS, **functional.PROGRAMS, **scripts.PROGRAMS}
