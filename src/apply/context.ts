import type { Member, Viewer } from '../auth/viewer.ts'
import type { Services } from '../services/index.ts'
import type { AccessInput } from '../services/people/access.ts'
import { StartError } from '../start-error.ts'
import type { Declaration } from './declaration.ts'

/** Everything that the steps need. They act as the owner of the workspace, or as the owner of a key. */
export interface ApplyContext {
  services: Services
  viewer: Viewer
  declaration: Declaration
  /** The ids of providers by their names, also of those that the steps create. */
  providerIds: Map<string, string>
  members: readonly Member[]
  /** Returns a viewer that acts as a member. */
  viewerOf(member: Member): Promise<Viewer>
}

/** Translates a name in `access` into the access of the API. @throws StartError */
export function accessOf({ declaration, providerIds }: ApplyContext, name: string | undefined): AccessInput {
  if (name === undefined) return { all: true }
  const folders = declaration.access?.[name]
  if (!folders) throw new StartError(`"${name}" is not declared in "access".`)
  const restrictions = Object.entries(folders).flatMap(([provider, paths]) => {
    const providerId = idOfProvider(providerIds, provider)
    return [paths].flat().map(basePath => ({ providerId, basePath }))
  })
  return { restrictions }
}

/** @throws StartError */
export function idOfProvider(providerIds: ReadonlyMap<string, string>, name: string): string {
  const id = providerIds.get(name)
  if (id === undefined) throw new StartError(`There is no storage "${name}": declare it in "providers".`)
  return id
}
