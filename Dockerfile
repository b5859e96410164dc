# Build with: docker build -t understudy .
# A release sets its name: --build-arg VERSION=1.2.3
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/understudy ./cmd/understudy
RUN mkdir /out/tree && mkdir -m 0700 /out/tree/data

# Nothing but certificates, time zones and a user without rights.
FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/understudy /usr/local/bin/understudy
# The folder of the store belongs to that user alone; a new volume takes this over.
COPY --from=build --chown=65532:65532 /out/tree/ /
USER 65532:65532
# A configuration is read from /data/understudy.jsonc where there is one.
WORKDIR /data
ENV UNDERSTUDY_HOME=/data
VOLUME /data
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 CMD ["/usr/local/bin/understudy", "health"]
ENTRYPOINT ["/usr/local/bin/understudy"]
CMD ["run"]
