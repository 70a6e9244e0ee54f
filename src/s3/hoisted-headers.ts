import type { IncomingHttpHeaders } from 'node:http'
import type { Query } from '../auth/sigv4/message.ts'

/**
 * Parameters that sign the request or describe its body. Signers of URLs do not know the body: the checksums that some add are of
 * an empty one.
 */
const ofSignature =
  /^x-amz-(?:algorithm|content-sha256|credential|date|decoded-content-length|expires|security-token|signature|signedheaders|trailer|user-agent|checksum-.*|sdk-.*)$/

/** Adds the headers that the signer of a URL has moved to its query, as the SDKs of AWS do with `x-amz-*`. */
export function addHoistedHeaders(headers: IncomingHttpHeaders, parameters: Query): void {
  for (const [parameter, value] of parameters) {
    const name = parameter.toLowerCase()
    if (name.startsWith('x-amz-') && !ofSignature.test(name)) headers[name] ??= value
  }
}
