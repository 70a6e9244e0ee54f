import type { FastifyRequest } from 'fastify'
import { parseSignedQuery } from '../auth/sigv4/message.ts'
import { splitUrl } from '../http/url.ts'

/**
 * Parameters that sign the request or describe its body. Signers of URLs do not know the body: the checksums that some add are of
 * an empty one.
 */
const ofSignature =
  /^x-amz-(?:algorithm|content-sha256|credential|date|decoded-content-length|expires|security-token|signature|signedheaders|trailer|user-agent|checksum-.*|sdk-.*)$/

/** Adds the headers of the request that the signer of its URL has moved to the query, as the SDKs of AWS do with `x-amz-*`. */
export function addHoistedHeaders({ raw: { url = '' }, headers }: FastifyRequest): void {
  const [, query] = splitUrl(url)
  for (const [parameter, value] of parseSignedQuery(query)) {
    const name = parameter.toLowerCase()
    if (name.startsWith('x-amz-') && !ofSignature.test(name)) headers[name] ??= value
  }
}
