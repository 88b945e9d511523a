# A program for OpenAI's API, unchanged: the model is an agent in a sandbox of your own machine.
# OPENAI_BASE_URL=http://127.0.0.1:4430/v1 OPENAI_API_KEY=geode_... python3 examples/for-openai.py
from openai import OpenAI

client = OpenAI()
question = "Write the word hello to hello.txt, and count its letters."
messages = [{"role": "user", "content": question}]
stream = client.chat.completions.create(model="geode", messages=messages, stream=True)
for chunk in stream:
    print(chunk.choices[0].delta.content or "", end="")

# The next question goes to the same sandbox.
with client.responses.stream(model="geode", input="Remember the number 7.") as events:
    first = events.get_final_response()
second = client.responses.create(model="geode", input="Which number was it?", previous_response_id=first.id)
print(f"\n{second.output_text}")
