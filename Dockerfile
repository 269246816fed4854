# The image of a manager, for every architecture from one host:
#   docker buildx build --platform linux/amd64,linux/arm64 --build-arg MANAGER=bmm-manager --build-arg VERSION=TAG --tag IMAGE:TAG .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG TARGETOS TARGETARCH VERSION
ARG MANAGER=bmm-manager
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath \
    -ldflags "-s -w -X github.com/bedplate/bedplate/internal/version.released=$VERSION" -o /manager ./cmd/$MANAGER

# No shell, no package manager; certificates, time zones and the user are there.
FROM gcr.io/distroless/static:nonroot
COPY --from=build /manager /manager
USER 65532:65532
ENTRYPOINT ["/manager"]
