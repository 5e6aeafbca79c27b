# The environment of requirements.lock:
#     docker build --tag context-nmt .
#     docker run --name miniature context-nmt          # make repro
#     docker cp miniature:/context-nmt/reports .
# With a package index that has CPU builds of PyTorch, --build-arg PIP_EXTRA_INDEX_URL=… saves gigabytes of CUDA.
FROM python:3.11-slim-bookworm AS base
RUN apt-get update && apt-get install --no-install-recommends --yes git make && rm -rf /var/lib/apt/lists/*

FROM base
ARG PIP_EXTRA_INDEX_URL=
WORKDIR /context-nmt
COPY requirements.lock requirements-torch.lock ./
RUN python3.11 -m venv .venv && .venv/bin/pip install --no-cache-dir --require-hashes --requirement requirements.lock \
    && .venv/bin/pip install --no-cache-dir --requirement requirements-torch.lock
COPY . .
RUN make .venv
ENV PATH=/context-nmt/.venv/bin:$PATH
CMD ["make", "repro"]
