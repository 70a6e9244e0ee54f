import { texts } from '../../texts/settings.tsx'
import { Checkbox } from '../../ui/checkbox.tsx'
import type { EventName } from './operations.ts'

export const eventTitles: Record<EventName, string> = texts.eventTitles
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
    <div role="group" aria-label={texts.events} className="event-list">
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
