# The base by its tag; for a build that is the same for ever give its digest, which
# `docker buildx imagetools inspect python:3.13-slim` prints: --build-arg PYTHON=python:3.13-slim@sha256:…
ARG PYTHON=python:3.13-slim

FROM ${PYTHON} AS packages
COPY requirements requirements
RUN python -m venv --without-pip /opt/venv \
    && pip --python /opt/venv/bin/python install --no-cache-dir --require-hashes -r requirements/production.txt

FROM ${PYTHON}
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 PATH=/opt/venv/bin:$PATH METRICS_DIR=/metrics
WORKDIR /app
COPY --from=packages /opt/venv /opt/venv
COPY . .
# The user is given by number, so that Kubernetes can tell that it is not root. A checkout made under a umask such as 027 has
# files that no other user may read. Nothing is written but below /metrics and /tmp: the container's root may be read-only.
RUN groupadd --system --gid 10001 watchword \
    && useradd --system --uid 10001 --gid 10001 --no-create-home watchword \
    && find . \( ! -perm -o=r -o -type d ! -perm -o=x \) -exec chmod a+rX {} + \
    && python -c "from verification.core import catalogues; catalogues.compile_catalogues()" \
    && python -m compileall -q config providers verification \
    && install --directory --owner=watchword --mode=0700 /metrics
USER 10001:10001
EXPOSE 8000
# Of a web process. A worker is probed by the age of a file that it touches, see compose.yaml.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
CMD ["python", "manage.py", "web", "--host", "::", "--port", "8000", "--workers", "4", "--preload"]
