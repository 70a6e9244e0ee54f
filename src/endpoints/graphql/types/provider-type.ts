import { builder } from '../builder.ts'
import { providersCost } from '../cost.ts'
import { ProviderTypeRef } from '../refs.ts'

ProviderTypeRef.implement({
  description: 'A type of back end. If its adapter is no longer installed, only `type` is known.',
  fields: t => ({
    type: t.string({
      description: 'The permanent name of the type, such as local or s3.',
      resolve: shape => ('definition' in shape ? shape.definition.type : shape.type),
    }),
    title: t.string({
      description: 'The display name, such as "Local disk".',
      resolve: shape => ('definition' in shape ? shape.definition.title : shape.type),
    }),
    configSchema: t.field({
      type: 'JSON',
      description:
        'The JSON Schema (draft-07) of the configuration. `writeOnly` marks secrets. Empty without the scope `admin`.',
      authScopes: { scope: 'read' },
      resolve: (shape, _args, { services, viewer }) =>
        'definition' in shape ? services.providers.visibleSchema(viewer, shape) : {},
    }),
    needsAuthorization: t.boolean({
      description: 'Whether a person must give OAuth consent before the provider can be used.',
      resolve: shape => 'definition' in shape && shape.definition.oauth !== undefined,
    }),
    builtIn: t.boolean({
      description: 'True if the adapter is built in, false if it comes from STOWAGE_ADAPTERS.',
      resolve: shape => 'definition' in shape && shape.builtIn,
    }),
  }),
})

builder.queryField('providerTypes', t =>
  t.field({
    type: [ProviderTypeRef],
    description: 'Returns the types of back end that this server supports: built in, or from STOWAGE_ADAPTERS.',
    authScopes: { scope: 'read' },
    complexity: providersCost,
    resolve: (_root, _args, { services, viewer }) => services.providers.types(viewer),
  }),
)
