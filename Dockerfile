FROM python:3.13-slim
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 PATH=/opt/venv/bin:$PATH
WORKDIR /app
COPY requirements requirements
RUN python -m venv /opt/venv && pip install --no-cache-dir -r requirements/production.txt
COPY . .
RUN useradd --system watchword && install --directory --owner=watchword /metrics
USER watchword
EXPOSE 8000
# Of a web process; workers are asked by `manage.py health --worker`, see compose.yaml.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
CMD ["python", "-m", "config.processes.webserver", "--host", "0.0.0.0", "--port", "8000", "--workers", "4"]
