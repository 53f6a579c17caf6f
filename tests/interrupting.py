"""Where Python handles no signals, so that tests do not interrupt there either."""

import dis


def no_signal_is_handled(frame) -> bool:
    """Whether a line begins with an instruction before which Python handles no signals.

    Python handles them after calls. So none is handled at a ``try:`` (which does nothing, and is
    outside of its own block), nor when the line of a ``with`` is reached again to leave its block.
    """
    code, at = frame.f_code, frame.f_lasti
    name, argument = dis.opname[code.co_code[at]], code.co_code[at + 1]
    leaves = name == "LOAD_CONST" and code.co_consts[argument] is None
    return leaves or name in ("NOP", "PUSH_EXC_INFO")
