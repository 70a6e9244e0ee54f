import { Checkbox } from '../../ui/checkbox.tsx'
import type { EventName } from './operations.ts'

export const eventTitles: Record<EventName, string> = {
  FILE_UPLOADED: 'File uploaded',
  FOLDER_CREATED: 'Folder created',
  ENTRY_RENAMED: 'Item renamed',
  ENTRY_MOVED: 'Item moved',
  ENTRY_COPIED: 'Item copied',
  ENTRY_DELETED: 'Item deleted',
  JOB_ENDED: 'Job ended',
  PROVIDER_CONNECTED: 'Storage connected',
  PROVIDER_UPDATED: 'Storage changed',
  PROVIDER_DISCONNECTED: 'Storage disconnected',
  MEMBER_JOINED: 'Member joined',
  MEMBER_UPDATED: 'Member changed',
  MEMBER_REMOVED: 'Member removed',
  API_KEY_CREATED: 'API key created',
  API_KEY_REVOKED: 'API key revoked',
}
const names = Object.keys(eventTitles) as EventName[]

export function EventChoices({
  events,
  onChange,
}: {
  events: readonly EventName[]
  onChange: (events: EventName[]) => void
}) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset brings its own border and legend
    <div role="group" aria-label="Events" className="event-list">
      {names.map(name => (
        <Checkbox
          key={name}
          isSelected={events.includes(name)}
          onChange={isChosen => onChange(names.filter(each => (each === name ? isChosen : events.includes(each))))}
        >
          {eventTitles[name]}
        </Checkbox>
      ))}
    </div>
  )
}
