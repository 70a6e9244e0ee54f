# The server as one image. Each step is a script in scripts/image, so that it can be run and tested without Docker.

# Debian's C library (glibc): the embedded PostgreSQL needs it, Alpine's will not do.
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /stowage
COPY package.json package-lock.json .npmrc ./
COPY web/package.json web/
COPY scripts/image scripts/image
RUN scripts/image/install.sh
COPY . .
RUN scripts/image/build.sh

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /stowage
COPY package.json package-lock.json .npmrc ./
COPY web/package.json web/
COPY scripts/image scripts/image
RUN scripts/image/install.sh --omit=dev

FROM ${NODE_IMAGE}
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 STOWAGE_DATA=/data
WORKDIR /stowage
COPY scripts/image/data-folder.sh scripts/image/health-check.js scripts/image/
RUN scripts/image/data-folder.sh /data node && ln -s /stowage/dist/src/main.js /usr/local/bin/stowage
COPY package.json LICENSE README.md ./
COPY --from=dependencies /stowage/node_modules node_modules
COPY --from=build /stowage/dist dist
USER node
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["node", "scripts/image/health-check.js"]
# Start it with --init (compose.yaml: init: true): as process 1 Node does not reap orphans, and a dead PostgreSQL that
# nobody reaps keeps the next start waiting. Stopping takes up to 30 s: --stop-timeout 30.
CMD ["node", "dist/src/main.js"]
