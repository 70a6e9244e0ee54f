/** Writes the XML of S3. A key with characters that XML cannot contain is whole only with `encoding-type=url`. */

import type { FastifyReply } from 'fastify'
import { escapeXml, xmlDeclaration } from '../../http/xml.ts'

export const xmlType = 'application/xml'
const s3Namespace = 'http://s3.amazonaws.com/doc/2006-03-01/'

/** Escaped XML. */
export type Xml = string & { readonly __xml: true }

/** @param content escaped elements, or text */
export function element(name: string, content: readonly Xml[] | string | number | boolean): Xml {
  const inner = typeof content === 'object' ? content.join('') : escapeXml(String(content))
  return `<${name}>${inner}</${name}>` as Xml
}

/** Returns the root element of a result, in the namespace of S3. */
export function result(name: string, content: readonly Xml[]): Xml {
  return `<${name} xmlns="${s3Namespace}">${content.join('')}</${name}>` as Xml
}

export function document(root: Xml): string {
  return xmlDeclaration + root
}

export function sendXml(reply: FastifyReply, root: Xml): FastifyReply {
  return reply.header('Content-Type', xmlType).send(document(root))
}
