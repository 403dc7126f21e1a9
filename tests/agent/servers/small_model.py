"""A small language model behind an OpenAI-compatible endpoint on loopback; prints its URL, ends with its input.

python small_model.py FILE.gguf     needs xllamacpp
"""

import sys

import xllamacpp

parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.n_ctx, parameters.n_parallel, parameters.n_predict = 4096, 1, 120
parameters.use_jinja = True
# One thread: with more, busy cores make it twenty times slower.
parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
parameters.sampling.temp = 0.8
server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
sys.stdin.read()
