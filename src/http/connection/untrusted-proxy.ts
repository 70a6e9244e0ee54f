import type { IncomingMessage } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'

/**
 * Says once, where no proxy is trusted, that a request seems to have come through one: all who come through it are one
 * address to the limits and in the log. Anybody can send such a header, so it is a hint and changes nothing.
 */
export function warnOfUntrustedProxy({ server }: FastifyInstance, log: FastifyBaseLogger): void {
  const look = ({ headers, socket }: IncomingMessage) => {
    const isForwarded = headers['x-forwarded-for'] !== undefined
    if (!isForwarded && headers.forwarded === undefined) return
    server.off('request', look)
    const address = socket.remoteAddress
    const setting = `set STOWAGE_TRUST_PROXY to its address, ${address}`
    log.warn(
      { address },
      isForwarded
        ? `A request came with X-Forwarded-For, which is believed of nobody. If it came through your proxy, ${setting}: until then all people behind it are one address and share its limits.`
        : `A request came with Forwarded, which is not read. If it came through your proxy, let that send X-Forwarded-For, and ${setting}: until then all people behind it are one address and share its limits.`,
    )
  }
  server.on('request', look)
}
