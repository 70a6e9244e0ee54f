import type { IncomingMessage } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'

/**
 * Warns once if no proxy is trusted but a request seems to come through one: the limits and the log then see one address
 * for all of its clients. Anyone can send such a header, so this changes nothing else.
 */
export function warnOfUntrustedProxy({ server }: FastifyInstance, log: FastifyBaseLogger): void {
  const inspect = ({ headers, socket }: IncomingMessage) => {
    const isForwarded = headers['x-forwarded-for'] !== undefined
    if (!isForwarded && headers.forwarded === undefined) return
    server.off('request', inspect)
    const address = socket.remoteAddress
    const setting = `set STOWAGE_TRUST_PROXY to its address, ${address}`
    log.warn(
      { address },
      isForwarded
        ? `A request came with X-Forwarded-For, which was ignored because no proxy is trusted. If it came through your proxy, ${setting}: until then all clients of the proxy count as one address and share its limits.`
        : `A request came with Forwarded, which this server does not support. If it came through your proxy, make the proxy send X-Forwarded-For, and ${setting}: until then all clients of the proxy count as one address and share its limits.`,
    )
  }
  server.on('request', inspect)
}
