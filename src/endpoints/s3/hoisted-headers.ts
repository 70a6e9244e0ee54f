import type { IncomingHttpHeaders } from 'node:http'
import type { Query } from '../../auth/sigv4/message.ts'

/**
 * Parameters that belong to the signature or describe the body. The checksum in a presigned URL is ignored, because the signer
 * does not know the body: some SDKs add the checksum of an empty one.
 */
const ofSignature =
  /^x-amz-(?:algorithm|content-sha256|credential|date|decoded-content-length|expires|security-token|signature|signedheaders|trailer|user-agent|checksum-.*|sdk-.*)$/

/**
 * Adds the `x-amz-*` headers that the signer of a URL moved to its query, as the SDKs of AWS do. A header in the request takes
 * precedence.
 */
export function addHoistedHeaders(headers: IncomingHttpHeaders, parameters: Query): void {
  for (const [parameter, value] of parameters) {
    const name = parameter.toLowerCase()
    if (name.startsWith('x-amz-') && !ofSignature.test(name)) headers[name] ??= value
  }
}
