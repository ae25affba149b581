// The Python around the code of others: runs it as a notebook would, and says what came of it. `run` is called with the code, and
// returns a JSON text.
export const pythonPrelude = `
import ast, asyncio, functools, json, linecache, os, posix, signal, socket, sys, time, traceback, warnings

scope = sys.modules["__main__"].__dict__
own_file = "<heddle>"
cells = 0

def run(code, units):
    global cells
    cells += 1
    name = f"<cell {cells}>"
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    try:
        return json.dumps({"value": shown(evaluated(code, name), units)})
    except SystemExit as ended:
        if ended.code in (None, 0):
            return json.dumps({})
        return failed(ended, units)
    except BaseException as error:
        return failed(error, units)
    finally:
        flush(sys.stdout)
        flush(sys.stderr)

# The code may have closed it, or put something else in its place: what came of the code is told all the same.
def flush(stream):
    try:
        stream.flush()
    except Exception:
        pass

def evaluated(code, name):
    tree = ast.parse(code, name)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)
    exec(compile(tree, name, "exec", dont_inherit=True), scope)
    if last is None:
        return None
    return eval(compile(last, name, "eval", dont_inherit=True), scope)

def shown(value, units):
    if value is None:
        return None
    scope["_"] = value
    return cut(repr(value), units)

def failed(error, units):
    own = error.__traceback__
    while own is not None and own.tb_frame.f_code.co_filename == own_file:
        own = own.tb_next
    said = error.msg if isinstance(error, SyntaxError) else error
    first = (str(said).strip().splitlines() or [""])[0]
    kind = type(error).__name__
    trace = "".join(traceback.format_exception(type(error), error, own))
    return json.dumps({"line": cut(f"{kind}: {first}" if first else kind, 2000), "trace": cut(trace, units)})

def cut(text, units):
    half = units // 2
    return text if len(text) <= units else text[:half] + "\\n[…]\\n" + text[-half:]

# One long wait could not be interrupted.
raw_sleep = time.sleep
def sleep(seconds):
    until = time.monotonic() + seconds
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    while (left := until - time.monotonic()) > 0:
        raw_sleep(min(left, 0.02))
time.sleep = sleep

def no_network(*_args, **_named):
    raise OSError("There is no network here")
for function in ("connect", "connect_ex", "bind", "listen", "sendto"):
    setattr(socket.socket, function, no_network)
for function in ("getaddrinfo", "gethostbyname", "create_connection"):
    setattr(socket, function, no_network)

def no_process(*_args, **_named):
    raise OSError("No programs can be started here")
posix.system = os.system = os.popen = no_process

# pyodide's own event loop only begins: what is left to do would be done when the call is long over. This one waits, as Python's does.
class Waiting:
    def select(self, timeout=None):
        if timeout is None:
            raise RuntimeError("It waits for what never comes: there is no network and no other thread here")
        time.sleep(max(timeout, 0))
        return []
    def close(self):
        pass

class EventLoop(asyncio.BaseEventLoop):
    def __init__(self):
        super().__init__()
        self._selector = Waiting()
    def _process_events(self, events):
        pass
    def _write_to_self(self):
        pass

class EventLoops(asyncio.events._BaseDefaultEventLoopPolicy):
    _loop_factory = EventLoop

with warnings.catch_warnings(action="ignore"):
    asyncio.set_event_loop_policy(EventLoops())
asyncio._set_running_loop(None)
asyncio.run = asyncio.run.__wrapped__
# asyncio.run would only note the default one, and let what runs go on.
signal.signal(signal.SIGINT, functools.partial(signal.default_int_handler))

sys.stdout.reconfigure(line_buffering=True)
sys.stderr.reconfigure(line_buffering=True)
for name in [name for name in sys.modules if name == "js" or name.split(".")[0] == "pyodide_js"]:
    del sys.modules[name]
`;
