/** The properties of entries in a multi-status response. */
import type { DeadProperty } from '../../services/webdav/properties.ts'
import { liveProperties, namesOfAll, type PropertySource } from './live-properties.ts'
import { type Propstat, propertyResponse } from './multistatus.ts'
import type { PropertyName } from './names.ts'
import { propertyElement } from './property-xml.ts'
import type { WantedProperties } from './propfind-body.ts'

export type EntryResponder = (href: string, source: PropertySource, dead: readonly DeadProperty[]) => string

/** Returns a function that writes the response for one entry. It is called for every entry of a folder. */
export function entryResponder(wanted: WantedProperties): EntryResponder {
  if (wanted.kind === 'names') return (href, source, dead) => propertyResponse(href, [namesOf(source, dead)])
  const isSome = wanted.kind === 'some'
  const planned = (isSome ? wanted.names : [...new Set([...namesOfAll, ...wanted.include])]).map(plan)
  return (href, source, dead) => {
    let found = ''
    let missing = ''
    for (const { name, read, write, missingElement } of planned) {
      const value = read(source)
      const xml = value === null ? (isSome ? deadXml(dead, name) : '') : write(value)
      found += xml
      if (isSome && xml === '') missing += missingElement
    }
    if (!isSome) for (const { xml } of dead) found += xml
    const propstats: Propstat[] = []
    if (found !== '' || missing === '') propstats.push({ status: 200, properties: found })
    if (missing !== '') propstats.push({ status: 404, properties: missing })
    return propertyResponse(href, propstats)
  }
}

interface PlannedProperty {
  name: PropertyName
  read(source: PropertySource): string | null
  write(value: string): string
  missingElement: string
}

function plan(name: PropertyName): PlannedProperty {
  const live = liveProperties.get(name)
  const missingElement = propertyElement(name, '')
  const [start = '', end = ''] = propertyElement(name, '\n').split('\n')
  return {
    name,
    read: source => live?.value(source) ?? null,
    write: value => (value === '' ? missingElement : start + value + end),
    missingElement,
  }
}

function deadXml(dead: readonly DeadProperty[], name: PropertyName): string {
  return dead.find(property => property.name === name)?.xml ?? ''
}

function namesOf(source: PropertySource, dead: readonly DeadProperty[]): Propstat {
  const live = [...liveProperties].filter(([, property]) => property.value(source) !== null).map(([name]) => name)
  const names = [...live, ...dead.map(({ name }) => name)]
  return { status: 200, properties: names.map(name => propertyElement(name, '')).join('') }
}
