import { builder } from '../builder.ts'
import { providersCost } from '../cost.ts'
import { ProviderTypeRef } from '../refs.ts'

ProviderTypeRef.implement({
  description: 'A kind of back end that can be connected. Of one whose adapter is gone only the type is known.',
  fields: t => ({
    type: t.string({
      description: 'Stays the same for good: local, s3, ...',
      resolve: shape => ('definition' in shape ? shape.definition.type : shape.type),
    }),
    title: t.string({
      description: 'For people: Local disk.',
      resolve: shape => ('definition' in shape ? shape.definition.title : shape.type),
    }),
    configSchema: t.field({
      type: 'JSON',
      description:
        'JSON Schema (draft-07) of the configuration; `writeOnly` marks secrets. Empty for those without the scope `admin`.',
      authScopes: { scope: 'read' },
      resolve: (shape, _args, { services, viewer }) =>
        'definition' in shape ? services.providers.visibleSchema(viewer, shape) : {},
    }),
    needsAuthorization: t.boolean({
      description: 'Whether a person has to give consent (OAuth) before it can be used.',
      resolve: shape => 'definition' in shape && shape.definition.oauth !== undefined,
    }),
    builtIn: t.boolean({
      description: 'Whether it comes with the server, rather than from STOWAGE_ADAPTERS.',
      resolve: shape => 'definition' in shape && shape.builtIn,
    }),
  }),
})

builder.queryField('providerTypes', t =>
  t.field({
    type: [ProviderTypeRef],
    description: 'The adapters this server has: built in, or named in STOWAGE_ADAPTERS.',
    authScopes: { scope: 'read' },
    complexity: providersCost,
    resolve: (_root, _args, { services, viewer }) => services.providers.types(viewer),
  }),
)
