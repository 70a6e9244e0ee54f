// The HEALTHCHECK: exits with 0 if the server responds. It uses loopback, because HOST is 0.0.0.0 in the image.
const url = `http://127.0.0.1:${process.env.PORT || 3000}/healthz`
const response = await fetch(url, { signal: AbortSignal.timeout(4000) }).catch(() => null)
process.exitCode = response?.ok ? 0 : 1
