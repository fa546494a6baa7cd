# One image for every role; the command says which: api, tend, worker.
FROM python:3.11.11-slim-bookworm AS build
WORKDIR /src
# For the page scanner. Without a compiler Shoal works too, and takes longer.
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
RUN python -m venv /venv
COPY pyproject.toml hatch_build.py build_scanner.py README.md LICENSE ./
COPY src src
RUN /venv/bin/pip install --no-cache-dir --disable-pip-version-check '.[all]'

FROM python:3.11.11-slim-bookworm
RUN groupadd --gid 10001 shoal \
    && useradd --uid 10001 --gid shoal --no-create-home --home-dir /var/lib/shoal --shell /usr/sbin/nologin shoal \
    && install --directory --owner shoal --group shoal --mode 0700 /var/lib/shoal
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1 SHOAL_HOME=/var/lib/shoal
WORKDIR /var/lib/shoal
USER 10001:10001
EXPOSE 8000
ENTRYPOINT ["shoal"]
CMD ["--help"]
