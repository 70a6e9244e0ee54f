import { useState } from 'react'
import { texts } from '../../texts/design.ts'
import { texts as jobTexts } from '../../texts/jobs.ts'
import { Checkbox, Choices, Switch } from '../../ui/choices.tsx'
import { TextField } from '../../ui/field.tsx'
import { Segments } from '../../ui/segments.tsx'
import { Select } from '../../ui/select.tsx'

const values = ['hour', 'day', 'week'] as const
const options = values.map(value => ({ value, title: jobTexts.frequencies[value] }))
const icons = { hour: 'rows', day: 'grid', week: 'photos' } as const

/** The fields of forms: empty, filled, wrong, disabled, and each kind of choice. */
export function Fields() {
  const [value, setValue] = useState<(typeof values)[number]>('day')
  const [isOn, setOn] = useState(true)
  return (
    <>
      <div className="stack">
        <TextField label={texts.name} description={texts.help} />
        <TextField label={texts.name} defaultValue={texts.filled} />
        <TextField
          label={texts.name}
          defaultValue={texts.filled}
          validate={() => texts.problem}
          validationBehavior="aria"
          isRequired
        />
        <TextField label={texts.name} defaultValue={texts.filled} isDisabled />
      </div>
      <div className="stack">
        <Select label={texts.select} options={options} value={value} onChange={setValue} />
        <Checkbox isSelected={isOn} onChange={setOn}>
          {texts.checkbox}
        </Checkbox>
        <Checkbox isSelected={!isOn} onChange={() => setOn(!isOn)}>
          {texts.checkbox}
        </Checkbox>
        <Switch isSelected={isOn} onChange={setOn}>
          {texts.switch}
        </Switch>
        <Segments
          label={texts.segments}
          options={options.map(option => ({ ...option, icon: icons[option.value] }))}
          value={value}
          onChange={setValue}
        />
      </div>
      <div className="stack">
        <Choices label={texts.choices} choices={options} value={value} onChange={setValue} />
        <Choices label={texts.choices} layout="row" choices={options} value={value} onChange={setValue} />
      </div>
    </>
  )
}
