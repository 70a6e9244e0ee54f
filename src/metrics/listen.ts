import { createServer } from 'node:http'
import { SettingsError } from '../settings/index.ts'

/** Milliseconds. */
const requestTimeout = 10_000

/**
 * Serves the metrics at `/metrics` of an address of their own.
 * @param text returns them in the text format of Prometheus
 * @returns a function that ends it
 * @throws SettingsError if the address cannot be used
 */
export async function listenForScrapes(
  { host, port }: { host: string; port: number },
  text: () => Promise<string>,
): Promise<() => Promise<void>> {
  const server = createServer({ requestTimeout, headersTimeout: requestTimeout }, (request, response) => {
    const isKnown =
      request.url?.split('?', 1)[0] === '/metrics' && (request.method === 'GET' || request.method === 'HEAD')
    if (!isKnown) {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('The metrics are at /metrics.\n')
      return
    }
    text().then(
      metrics => response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(metrics),
      () => response.writeHead(503, { 'content-type': 'text/plain' }).end('The metrics cannot be read now.\n'),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', ({ message }) => {
      reject(new SettingsError(`STOWAGE_METRICS_ADDRESS cannot be used: ${message}.`))
    })
    server.listen(port, host, resolve)
  })
  return async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
}
