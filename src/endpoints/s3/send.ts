import type { FastifyReply } from 'fastify'
import { document, type Xml, xmlType } from './xml.ts'

export function sendXml(reply: FastifyReply, root: Xml): FastifyReply {
  return reply.header('Content-Type', xmlType).send(document(root))
}
