// Exit status 0 while the server answers; for HEALTHCHECK. HOST is 0.0.0.0 in the image, so loopback reaches it.
const url = `http://127.0.0.1:${process.env.PORT || 3000}/healthz`
const answer = await fetch(url, { signal: AbortSignal.timeout(4000) }).catch(() => null)
process.exitCode = answer?.ok ? 0 : 1
