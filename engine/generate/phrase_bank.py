"""Sentences that say nothing of days, amounts or places: what stands around the fact.

No number, weekday, month or relative day may occur here: a reader of facts would take it for one.
"""

from __future__ import annotations

OPENING_LEADS = (
    "Happy to add mine.", "Good question.", "Chiming in from the kitchen table.",
    "I have been reading along quietly.", "Finally something I can answer.", "Hello everybody.",
    "Glad somebody asked.", "Here is my contribution.", "I nearly did not write this.",
    "Oh, this is a subject for me.", "Greetings from the slow end of the list.",
    "I will keep it brief.", "What a nice thread.", "You asked for it.",
)  # fmt: skip
OPENING_TAILS = (
    "Make of it what you will.", "It may help somebody.", "No photographs, sorry.",
    "I am still pleased about it.", "It did not go quite as planned.", "No complaints from me.",
    "Others may see it differently.", "My neighbour told me to share it.",
    "Bear with my spelling.", "It is nothing special.", "I hope it is what you were after.",
)  # fmt: skip
PERSONAS = (
    "I am a {job} by trade.", "In my other life I am a {job}.", "As a {job} I notice such things.",
    "Working as a {job}, I do not get out much.", "You can tell that a {job} is writing this.",
    "A {job} like me needs the change.",
)  # fmt: skip
DOING_DETAILS = (
    "The tea afterwards was worth coming for.", "My back complained, nobody else did.",
    "Somebody had brought a dog, which helped more than it should have.",
    "We had more hands than tools.", "The organisers had thought of everything but chairs.",
    "There was a good deal of laughter and some real work.",
    "I learned more than I had expected to.", "The youngest of us were by far the most patient.",
    "Bring gloves if you ever join.", "It rained, and we did not care.",
    "An old gentleman showed us how it is really done.", "Everybody took a turn at the hard part.",
    "There is always cake, and it always runs out.", "I would do it again without being asked.",
    "The hall was colder than anybody had warned us.", "Nobody kept score, to my relief.",
    "I came home with paint on my sleeves, as one does.", "We even got a mention on the radio.",
)  # fmt: skip
AHEAD_DETAILS = (
    "Gloves and patience are needed, I am told.", "Everybody is to take a turn at the hard part.",
    "There will be cake, and it will run out.", "I have been looking for my old boots ever since.",
    "The organisers have thought of everything but chairs.", "Beginners are welcome.",
    "If it rains, we shall not care.", "I still have to find somebody to mind the dog.",
    "My neighbour has promised to come along.", "I hope the hall is heated.",
)  # fmt: skip
BUYING_DETAILS = (
    "The manual is a disaster, the thing itself is not.", "Delivery took its time.",
    "The shop assistant knew less about it than I did.", "It is heavier than it looks.",
    "The colour is not for everybody.", "I read far too many reviews before deciding.",
    "My family thinks I have lost my mind.", "It does what it says on the box.",
    "Spare parts are easy to come by, which settled it.", "I had to carry it up the stairs myself.",
    "It smells of new varnish still.", "The finish is better than in the pictures.",
    "The old one went to a cousin.", "They threw in a cover when I hesitated.",
)  # fmt: skip
CLOSINGS = (
    "Ask away if you want to know more.", "That is all from me.", "Warm regards to all.",
    "Let me know how yours went.", "I would recommend it to anybody.", "Over to the next of you.",
    "Sorry for rambling.", "Somebody had to say it.", "See you around.", "Take care, all of you.",
    "I am off to put the kettle on.", "Do write back.",
)  # fmt: skip

# -- chats ---------------------------------------------------------------------------------

HELLO_LEADS = (
    "Hi {name}!", "{name}, are you there?", "Hello {name}.", "Hey {name}, it has been ages.",
    "{name}! I was just thinking of you.", "Morning or whatever it is, {name}.",
    "Knock knock, {name}.", "{name}, have you got a moment?", "Good to see you online, {name}.",
)  # fmt: skip
HELLO_TAILS = (
    "How is life?", "How are things at your end?", "What have you been up to?",
    "Tell me something nice.", "I am bored on the train.", "I need cheering up.",
    "Still hard at work?", "I owe you a message.",
)  # fmt: skip
HELLO_ANSWERS = (
    "All well here, thank you. Busy, as a {job} always is.",
    "Cannot complain. A {job} never runs out of things to do.",
    "Oh, the usual. You know what it is like for a {job}.",
    "Rather good, in fact. Being a {job} leaves me some free time.",
    "Tired but cheerful. Nobody told me that a {job} works such hours.",
)  # fmt: skip
SMALL_TALK = (
    ("Is the cat still ruling the house?", "She has taken over the good armchair for ever."),
    ("Did the plumber ever turn up?", "He did, looked at the pipe, sighed and left again."),
    ("Are you still off coffee?", "I lasted until somebody put a cup in front of me."),
    ("How is your mother keeping?", "Livelier than I am. She has joined a choir."),
    ("Did you finish that enormous novel?", "I gave up when the butler turned out to be twins."),
    ("Any luck with the sourdough?", "It rose, it fell, we ate it with a spoon."),
    ("Is your neighbour still practising the trumpet?", "Yes, and he is getting no better."),
    ("Have you seen Marek lately?", "Only from afar. He has grown a beard."),
    ("My phone keeps correcting my spelling.", "Mine has strong opinions about commas."),
    ("I broke the blue teapot, by the way.", "Not the blue one! We shall have to mourn it."),
    ("Do you remember the song from school?", "Every verse, and I am not proud of it."),
    ("I have taken up whistling.", "I shall warn the birds."),
    ("Our lift is broken again.", "Think of your calves. They will thank you."),
    ("I cannot find my umbrella anywhere.", "It is with mine, wherever that is."),
    ("The new colleague talks without a pause.", "Give him a biscuit. Nobody talks and chews."),
    ("I dreamt of turnips.", "That is a sign of something, surely."),
    ("Do you still have my ladder?", "I do. It has become part of the family."),
    ("I am learning to juggle.", "Please stay away from the eggs."),
)  # fmt: skip
TALK_CLOSINGS = (
    ("I must run, the soup is boiling over.", "Save the soup! Speak soon."),
    ("My stop is coming up. It was good to talk.", "Likewise. Mind the gap."),
    ("Somebody is at the door.", "Go, go. Bye for now."),
    ("I should let you get back to it.", "Yes, it will not do itself. Take care."),
    ("I am falling asleep over the keyboard.", "Then off you go. Sleep well."),
    ("Battery is nearly gone.", "Then quickly: a hug from here."),
)  # fmt: skip
DOING_PROMPTS = (
    "And, did you get to do anything for yourself?", "What is new with your many hobbies?",
    "Come on, tell me what you have been doing.", "You sounded excited. What is it about?",
    "So what keeps you busy apart from work?", "Anything fun that I missed?",
)  # fmt: skip
BUYING_PROMPTS = (
    "I heard that you went shopping. What did you get?", "So, did you buy something big at last?",
    "You wanted to treat yourself, no?", "What is the large parcel in your hallway?",
    "Did you make up your mind in the shop?", "Well, what have you spent your savings on?",
)  # fmt: skip
PRICE_PROMPTS = (
    "And what do they ask for such a thing?", "That cannot have been cheap, can it?",
    "Go on, what did it cost you?", "Was it very expensive?", "Dare I ask about the price?",
)  # fmt: skip
DOING_REACTIONS = (
    "You are never short of ideas.", "Only you would think of that.", "I envy you a little.",
    "Take me along some other time!", "That sounds like proper work.",
)  # fmt: skip
