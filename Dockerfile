# The compiled service in an image that contains Node.js, its libraries and nothing else: no shell, no npm.

# A release names the digest too: CONTRIBUTING.md.
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY domain domain
COPY application application
COPY adapters adapters
COPY config config
COPY docs/openapi.json docs/
COPY tests/packages/name-commands.ts tests/packages/
# Where the pages in docs/ are published for this version. Messages name them by this URL.
ARG DOCS_URL=
# The maps contain the sources, so that a stack trace names their lines; nothing reads the types.
RUN npm run build && find dist -name '*.d.ts' -delete

FROM ${NODE_IMAGE} AS production
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Removes unneeded files: the bcrypt binaries of other platforms, and the types and source maps of packages.
RUN npm ci --omit=dev --no-audit --no-fund \
  && find node_modules/bcrypt/prebuilds -mindepth 1 -maxdepth 1 -type d ! -name "linux-$(node -p process.arch)" -exec rm -r {} + \
  && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.md' \) -delete
# Copies Node.js and the shared libraries that it loads to a new root. Node.js has its own list of certificate authorities.
RUN mkdir -p /rootfs/tmp /rootfs/etc /data \
  && for file in "$(command -v node)" $(ldd "$(command -v node)" | grep -o '/[^ )]*'); do \
       mkdir -p "/rootfs$(dirname "$file")" && cp -L "$file" "/rootfs$file" || exit 1; done \
  && echo 'service:x:10001:10001::/app:/sbin/nologin' > /rootfs/etc/passwd \
  && ln -s "$(command -v node)" /rootfs/node

FROM scratch
COPY --from=production /rootfs /
# A new volume that is mounted here belongs to the service, so that DATABASE_FILE can be in it.
COPY --from=production --chown=10001:10001 /data /data
COPY --from=production /app/package.json /app/package.json
COPY --from=production /app/node_modules /app/node_modules
COPY --from=build /app/dist /app/dist
WORKDIR /app
USER 10001:10001
# The management port, 8081, is for probes and Prometheus, which send no token, so it is not exposed: do not publish it.
ENV NODE_ENV=production MANAGEMENT_PORT=8081 HOST=0.0.0.0 MANAGEMENT_HOST=0.0.0.0
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["/node", "dist/config/health-check.js", "/livez"]
# docker run IMAGE clients list runs another program. docs/operate.md, "Memory", has the flag.
ENTRYPOINT ["/node", "--max-semi-space-size=8", "dist/config/program.js"]
CMD ["serve"]
